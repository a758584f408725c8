module muster.test/clients

go 1.22
