// Checks addresses of destinations from outside, such as links in pages and urls in responses. Names are useless for a check, since
// they can resolve to a different machine a second later.
//
// 1. Public unicast addresses are allowed, and unknown ranges are not.
// 2. A mapped or NAT64 address is checked as the IPv4 address in it. Obsolete forms are refused (6to4, Teredo, compatible).

import { networkInterfaces } from 'node:os';
import ipaddr from 'ipaddr.js';

/** Services that cloud machines reach at a public address, with secrets for whoever asks. */
const METADATA = new Set(['168.63.129.16']);
const GLOBAL_UNICAST: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse('2000::'), 3];

const WORDS: Readonly<Record<string, string>> = {
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
    if (METADATA.has(address.toString())) return 'a metadata service';
    const range = address.range();
    return range === 'unicast' ? undefined : (WORDS[range] ?? 'a reserved address');
  }
  if (address.isIPv4MappedAddress()) return rangeRefusal(address.toIPv4Address());
  const range = address.range();
  // NAT64 (RFC 6052): how a machine without IPv4 reaches any IPv4 address.
  if (range === 'rfc6052') return rangeRefusal(ipaddr.fromByteArray(address.toByteArray().slice(12)));
  if (range !== 'unicast') return WORDS[range] ?? 'a reserved address';
  return address.match(GLOBAL_UNICAST) ? undefined : 'a reserved address';
}

function ownAddresses(): Set<string> {
  const all = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  return new Set(all.map(({ address }) => ipaddr.parse(address.replace(/%.*$/, '')).toString()));
}
