select * from orders where (o_orderstatus = 'F' or o_orderstatus = 'O') order by o_orderkey desc limit 20 offset 0;
