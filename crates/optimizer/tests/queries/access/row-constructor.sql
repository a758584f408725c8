select id from message where (folder, sent) >= (20, date '2019-12-28');
