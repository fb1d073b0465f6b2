// Checks destination addresses from untrusted sources, such as links in pages and URLs in responses. Names
// cannot be checked, since they can resolve to another machine a second later.
//
// 1. Only public unicast addresses are allowed.
// 2. A mapped or NAT64 address is checked as the IPv4 address in it. Obsolete forms are refused (6to4,
// Teredo, compatible).

import { networkInterfaces } from 'node:os';
import ipaddr from 'ipaddr.js';

/** Metadata services of cloud platforms at public addresses; they return secrets to any client. */
const METADATA_ADDRESSES = new Set(['168.63.129.16']);
const GLOBAL_UNICAST: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse('2000::'), 3];

const RANGE_NAMES: Readonly<Record<string, string>> = {
  loopback: 'a loopback address',
  private: 'a private address',
  linkLocal: 'a link-local address',
  uniqueLocal: 'a private address',
  unspecified: 'the unspecified address',
  carrierGradeNat: 'a carrier-grade NAT address',
  multicast: 'a multicast address',
  broadcast: 'the broadcast address',
};

/** Returns the reason to refuse `address`, phrased to follow "is"; undefined if allowed. */
export function refusalOf(address: string): string | undefined {
  let parsed: ipaddr.IPv4 | ipaddr.IPv6;
  try {
    parsed = ipaddr.parse(address);
  } catch {
    return 'no IP address';
  }
  return (
    rangeRefusal(parsed) ?? (ownAddresses().has(parsed.toString()) ? 'an address of this machine' : undefined)
  );
}

function rangeRefusal(address: ipaddr.IPv4 | ipaddr.IPv6): string | undefined {
  if (address instanceof ipaddr.IPv4) {
    if (METADATA_ADDRESSES.has(address.toString())) return 'a metadata service';
    const range = address.range();
    return range === 'unicast' ? undefined : (RANGE_NAMES[range] ?? 'a reserved address');
  }
  if (address.isIPv4MappedAddress()) return rangeRefusal(address.toIPv4Address());
  const range = address.range();
  // NAT64 (RFC 6052): IPv4 addresses for machines without IPv4.
  if (range === 'rfc6052') return rangeRefusal(ipaddr.fromByteArray(address.toByteArray().slice(12)));
  if (range !== 'unicast') return RANGE_NAMES[range] ?? 'a reserved address';
  return address.match(GLOBAL_UNICAST) ? undefined : 'a reserved address';
}

function ownAddresses(): Set<string> {
  const all = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  return new Set(all.map(({ address }) => ipaddr.parse(address.replace(/%.*$/, '')).toString()));
}
