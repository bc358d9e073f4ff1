"""A forum that changes while it is crawled, and the judge of such a crawl.

    python -m tests.changing --help          whole crawls with worker processes, held against the truth
    python -m tests.changing.serve --help    the forum alone, as a process

Content, addresses and markup are the demo forum's (crawl_tasks/demo). On top of them
    tr.thread[data-pinned]    "1" on the rows of pinned threads, which stand first
    tr.thread[data-state]     "deleted" on the rows of threads that a moderator took away; the thread answers 404
    article.post[data-flair]  a mark that only the thread's own page shows
    board 4                   its rows show how many comments a thread has, and neither the last one's time nor edits
    board 3                   writes recent moments in words, `今天 12:30`
    half emojis               as a reference to half a UTF-16 pair, and as the first three bytes of four

Which change follows which is drawn from the seed. When it is made is real time: the first page that is asked for
starts the changes, they go on for some seconds, then the forum rests. Two front ends answer, by turns that are drawn
too. The second one's clock is `--skew` seconds ahead. Each keeps pages for `--cache` seconds and says so (Date, Age).
"""
