select id from message where folder = 3 order by sent desc limit 10;
