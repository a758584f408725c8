-- Both columns can be NULL: still a hash join, no nested loop.
select m.id from message m where (m.sender, m.size) not in (select n.sender, n.size from message n where n.folder = 3)
