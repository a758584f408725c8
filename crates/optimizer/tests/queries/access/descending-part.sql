select id from message where sent > date '2019-12-30' and size < 10;
