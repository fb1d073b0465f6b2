// Resolves and checks destinations of connections.
//
// A name is resolved once, every address is checked, and the connection uses only these addresses. One forbidden address makes
// the name forbidden, since DNS rebinding starts like this.

import { type LookupAddress, lookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { promisify } from 'node:util';
import { isBlockedPort } from './blocked-ports.ts';

const LOOKUP_MS = 10_000;

/** Returns the reason to refuse an address, phrased to follow "is"; undefined if allowed. */
export type Refusal = (address: string) => string | undefined;

/** All addresses of a name. */
export type Resolve = (name: string) => Promise<readonly LookupAddress[]>;

/** The addresses that the system knows, its hosts file included. */
export const resolveBySystem: Resolve = (name) => promisify(lookup)(name, { all: true, verbatim: true });

/** Forbidden connection; the message contains the reason. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError';
}

export interface Destination {
  readonly host: string;
  readonly port: number;
  /** For `net.connect`: gives the checked addresses and asks nobody. */
  readonly lookup: LookupFunction;
}

/**
 * @param host a name, or an address; IPv6 with or without brackets
 * @throws RefusedError if the destination is forbidden; the resolver's error if it is unknown
 */
export async function destinationOf(
  host: string,
  port: number,
  refusal: Refusal,
  resolve: Resolve,
): Promise<Destination> {
  if (isBlockedPort(port)) throw new RefusedError(`browsers do not open port ${port}`);
  const name = host.replace(/^\[(.*)\]$/, '$1');
  // RFC 6761: there are no such names, so that nobody is asked. The browser's own calls home are sent there.
  if (name.endsWith('.invalid')) throw noAddress();
  const addresses = await withinTime(resolve(name));
  if (addresses.length === 0) throw noAddress();
  for (const { address } of addresses) {
    const reason = refusal(address);
    if (reason === undefined) continue;
    throw new RefusedError(isIP(name) === 0 ? `${name} is ${address}, ${reason}` : `${name} is ${reason}`);
  }
  return {
    // Not the name: what Node takes for an address it would connect to without asking `lookup`.
    host: 'checked.invalid',
    port,
    lookup: (_name, options, done) => {
      const [first] = addresses;
      if (options.all) done(null, [...addresses]);
      else done(null, first?.address ?? '', first?.family);
    },
  };
}

function noAddress(): Error {
  return Object.assign(new Error('the name has no address'), { code: 'ENOTFOUND' });
}

async function withinTime<T>(looking: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(Object.assign(new Error('looking up the name took too long'), { code: 'EAI_AGAIN' })),
      LOOKUP_MS,
    );
  });
  try {
    return await Promise.race([looking, late]);
  } finally {
    clearTimeout(timer);
  }
}
