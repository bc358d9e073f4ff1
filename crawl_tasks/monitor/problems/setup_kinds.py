"""Kinds of problems with the base of an installation: Python, packages, files, database, Redis."""

from __future__ import annotations

from crawl_tasks.monitor.problems.kinds import Kind, Severity

PYTHON_OLD = Kind(
    "CrawlPythonOld", Severity.CRITICAL, "Python {version} is too old", "install Python 3.11 or later",
)  # fmt: skip
RUNS_AS_ROOT = Kind(
    "CrawlRunsAsRoot", Severity.INFO, "this command runs as root; a crawler needs no rights of root",
    "run it as a user of its own",
)  # fmt: skip
PACKAGE_VERSION = Kind(
    "CrawlPackageVersion", Severity.CRITICAL, "{package} {version} is installed; the transport is made for {series}x",
    "run make setup",
)  # fmt: skip
STATE_DIRECTORY = Kind(
    "CrawlStateDirectory", Severity.CRITICAL, "{path} cannot be written",
    "mend the permissions of {parent}, or set CRAWL_STATE_DIR, of the archive CRAWL_ARCHIVE_DIR",
)  # fmt: skip
STATE_OPEN = Kind(
    "CrawlStateOpen", Severity.WARNING, "other users of this machine can read {count} files or directories, as {path}",
    "chmod -R go-rwx {directory}", singular="other users of this machine can read a file or directory, {path}",
)  # fmt: skip
REDIS_OPEN = Kind(
    "CrawlRedisOpen", Severity.INFO, "Redis asks for no password: whoever reaches it, each user of its machine too,"
    " can empty the ledger and choose what is fetched",
    "give it the users of docker/users.conf, and a password in CRAWL_REDIS_URL; the Redis of crawl-tasks run has one",
)  # fmt: skip
REDIS_NAMELESS = Kind(
    "CrawlRedisNameless", Severity.INFO,
    "the password of Redis is that of the user default, who may do everything there",
    "give it the users of docker/users.conf: the workers' may not administer, Flower's may stop workers and no more",
)  # fmt: skip
PAGE_OPEN = Kind(
    "CrawlPageOpen", Severity.INFO, "the status page is forwarded (CRAWL_WEB_HOSTS) and asks for no password: whoever"
    " reaches the proxy sees sites, addresses and failures",
    "set CRAWL_WEB_PASSWORD, or let the proxy ask for one",
)  # fmt: skip
DISK_FULL = Kind(
    "CrawlDiskFull", Severity.CRITICAL, "the disk of {path} is full", "free some space; nothing is lost meanwhile",
)  # fmt: skip
ARCHIVE_PACKAGE = Kind(
    "CrawlArchivePackage", Severity.CRITICAL, "{sites} shall be archived, and warcio is not installed",
    "pip install 'crawl-tasks[archive]'",
)  # fmt: skip
FEW_FILES = Kind(
    "CrawlFewFiles", Severity.CRITICAL,
    "a process may open {limit} files and connections only, and a crawl on this machine needs {needed}",
    "run ulimit -n 4096 first, or set LimitNOFILE of the service",
)  # fmt: skip
SITE_FILE = Kind(
    "CrawlSiteFile", Severity.CRITICAL, "{reason}", "mend the file, then run crawl-tasks sites check",
)  # fmt: skip
NO_SITE_FILE = Kind(
    "CrawlNoSiteFile", Severity.INFO, "no site file is here: {reason}",
    "nothing, if another machine publishes the sites",
)  # fmt: skip
SITE_ELSEWHERE = Kind(
    "CrawlSiteElsewhere", Severity.INFO, "{subject} stands in no file of this directory; {publisher} published it",
    "nothing, if that directory counts; else crawl-tasks sites remove {subject}", "site",
)  # fmt: skip
SITE_DIFFERS = Kind(
    "CrawlSiteDiffers", Severity.INFO,
    "{subject}: the file of this directory is not in force; {publisher} published another one",
    "nothing, if that one counts; else crawl-tasks sites check {subject}", "site",
)  # fmt: skip
SITES_MISPLACED = Kind(
    "CrawlSitesMisplaced", Severity.INFO,
    "{count} sites are not in the cell that the hash gives them, as after a cell was added: {sites}",
    "they are crawled where they are; crawl-tasks sites move brings them over, one by one",
    singular="1 site is not in the cell that the hash gives it, as after a cell was added: {sites}",
)  # fmt: skip
NO_CONTACT = Kind(
    "CrawlNoContact", Severity.CRITICAL, "CRAWL_CONTACT is not set, and {sites} cannot be crawled without",
    "set it to a page or address of yours",
)  # fmt: skip
DATABASE_DOWN = Kind(
    "CrawlDatabaseDown", Severity.CRITICAL, "the database cannot be used: {reason}",
    "look whether it runs and whether CRAWL_DATABASE_URL is right",
)  # fmt: skip
DATABASE_BUSY = Kind(
    "CrawlDatabaseBusy", Severity.WARNING, "the database is locked by another process, and nothing is stored: {reason}",
    "nothing, if it is a backup or a migration that ends; else end the process that holds it",
)  # fmt: skip
REDIS_OLD = Kind(
    "CrawlRedisOld", Severity.CRITICAL, "Redis {version} is too old", "install Redis 7.0 or later, or Valkey",
)  # fmt: skip
REDIS_EVICTS = Kind(
    "CrawlRedisEvicts", Severity.CRITICAL, "maxmemory-policy is {policy}: Redis would throw the ledger away",
    "CONFIG SET maxmemory-policy noeviction",
)  # fmt: skip
REDIS_FORGETS = Kind(
    "CrawlRedisForgets", Severity.WARNING, "appendonly is off: a restart of Redis forgets the ledger",
    "CONFIG SET appendonly yes",
)  # fmt: skip
REDIS_HIDDEN = Kind(
    "CrawlRedisHidden", Severity.INFO, "Redis does not let us look at INFO: {reason}",
    "look yourself whether maxmemory-policy is noeviction and appendonly is yes",
)  # fmt: skip
CLOCK_SKEW = Kind(
    "CrawlClockSkew", Severity.WARNING, "the clocks of this machine and of Redis are {duration} apart",
    "set up NTP on both machines",
)  # fmt: skip

SETUP_KINDS = (
    PYTHON_OLD, RUNS_AS_ROOT, PACKAGE_VERSION, STATE_DIRECTORY, STATE_OPEN, DISK_FULL, ARCHIVE_PACKAGE, FEW_FILES,
    SITE_FILE, NO_SITE_FILE, SITE_ELSEWHERE, SITE_DIFFERS, SITES_MISPLACED, NO_CONTACT, DATABASE_DOWN, DATABASE_BUSY,
    REDIS_OLD, REDIS_EVICTS, REDIS_FORGETS, REDIS_HIDDEN, REDIS_OPEN, REDIS_NAMELESS, PAGE_OPEN, CLOCK_SKEW,
)  # fmt: skip
