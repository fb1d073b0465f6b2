// Resolves and checks destinations of connections. A name is resolved once, every address is checked, and the
// connection uses only these addresses. If any address is forbidden, the name is forbidden, since DNS
// rebinding starts like this.

import { type LookupAddress, lookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { promisify } from 'node:util';
import { isBlockedPort } from './blocked-ports.ts';
import { withoutBrackets } from './host.ts';

const LOOKUP_MS = 10_000;

/** Returns the reason to refuse an address, phrased to follow "is"; undefined if allowed. */
export type AddressCheck = (address: string) => string | undefined;

/** Resolves a name to the complete list of addresses. */
export type Resolve = (name: string) => Promise<readonly LookupAddress[]>;

/** Resolves with the system's resolver, including its hosts file. */
export const resolveBySystem: Resolve = (name) => promisify(lookup)(name, { all: true, verbatim: true });

/** Forbidden connection; the message contains the reason. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError';
}

export interface Destination {
  readonly host: string;
  readonly port: number;
  /** For `net.connect`: returns the checked addresses without a query. */
  readonly lookup: LookupFunction;
}

/**
 * @param host a name or an address; IPv6 with or without brackets
 * @throws RefusedError if the destination is forbidden; the resolver's error if it is unknown
 */
export async function destinationOf(
  host: string,
  port: number,
  refusal: AddressCheck,
  resolve: Resolve,
): Promise<Destination> {
  if (isBlockedPort(port)) throw new RefusedError(`browsers do not open port ${port}`);
  const name = withoutBrackets(host);
  // RFC 6761: names under .invalid never exist, so no query is needed. The browser's own telemetry is
  // directed to them.
  if (name.endsWith('.invalid')) throw noAddress();
  const addresses = await withinTime(resolve(name));
  if (addresses.length === 0) throw noAddress();
  for (const { address } of addresses) {
    const reason = refusal(address);
    if (reason === undefined) continue;
    throw new RefusedError(isIP(name) === 0 ? `${name} is ${address}, ${reason}` : `${name} is ${reason}`);
  }
  return {
    // Not the original host: Node connects to IP addresses without calling `lookup`.
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

async function withinTime<T>(resolution: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(Object.assign(new Error('name resolution timed out'), { code: 'EAI_AGAIN' })),
      LOOKUP_MS,
    );
  });
  try {
    return await Promise.race([resolution, late]);
  } finally {
    clearTimeout(timer);
  }
}
