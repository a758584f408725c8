select subject from message where sent = date '2012-02-03' and size < 100 and id < 900000;
