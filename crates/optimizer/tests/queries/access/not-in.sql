select count(*) from message where folder not in (1, 2) and sent = date '2012-02-03';
