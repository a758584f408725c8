select * from job where state = 'A' or state = 'B' order by id desc limit 20;
