select subject from message where sender = 5 or (sent = date '2012-02-03' and size = 7);
