create table every_type(
  id int primary key,
  t tinyint, tu tinyint unsigned, s smallint, su smallint unsigned, m mediumint, mu mediumint unsigned,
  i int, iu int unsigned, b bigint, bu bigint unsigned,
  d decimal(15,2), dl decimal(38,10), f float, db double,
  da date, dt datetime(6), ts timestamp, ti time,
  c char(10), v varchar(50), tx text, bi binary(4), vb varbinary(20), bl blob
);
