// The address of the database in messages: never a user, a password or a database name.

import { expect, test } from 'vitest';
import { databaseAddress } from '../../../../../actors/store/postgres/database-address.ts';

test.each([
  ['postgres://ann:secret@db.example.com:6432/orders', 'db.example.com:6432'],
  ['postgres://ann:secret@db.example.com/orders?sslmode=disable', 'db.example.com:5432'],
  ['postgres://ann:secret@[::1]:5433/orders', '[::1]:5433'],
  ['postgres://ann:secret@%2Frun%2Fpostgresql/orders', '/run/postgresql'],
  ['postgres:///orders?host=/run/postgresql', '/run/postgresql'],
  ['postgres://ann:secret@db:none/orders', undefined],
])('the address of the database %s in messages is %s', (url, address) => {
  expect(databaseAddress(url)).toBe(address);
});
