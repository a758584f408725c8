select subject from message where (folder, sent) in ((1, date '2012-02-03'), (2, date '2012-02-04'));
