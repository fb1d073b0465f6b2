// Address of the database for messages: host and port, or the folder of its socket. Never a user, a password
// or a database name.

import pg from 'pg';

/** Returns undefined for an invalid URL. */
export function databaseAddress(url: string): string | undefined {
  try {
    // The driver also reads PGHOST and PGPORT.
    const { host, port } = new pg.Client({ connectionString: url });
    if (host.startsWith('/')) return host;
    return `${host.includes(':') ? `[${host}]` : host}:${port}`;
  } catch {
    return undefined;
  }
}
