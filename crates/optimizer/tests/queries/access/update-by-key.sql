update message set size = size + 1 where id = 5
