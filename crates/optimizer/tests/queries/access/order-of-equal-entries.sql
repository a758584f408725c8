select * from job where state = 'Z' order by id desc limit 20;
