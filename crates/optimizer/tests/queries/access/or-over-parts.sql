select subject from message where (folder = 1 and sent = date '2012-02-03') or (folder = 3 and sent < date '2010-01-05');
