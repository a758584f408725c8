select subject from message where folder = 7 and sender between 1 and 250 and sent between date '2012-02-03' and date '2012-03-10';
