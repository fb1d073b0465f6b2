// Finds addresses in a registry entry that need the user's permission: on this machine, in private networks,
// and without HTTPS. Host names are not resolved, because their addresses can change at any time.

import { BlockList, isIP } from 'node:net';

const notPublic = new BlockList();
for (const [network, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['224.0.0.0', 3],
] as const)
  notPublic.addSubnet(network, prefix, 'ipv4');
/** Range of all public IPv6 addresses. */
const globalUnicast = new BlockList();
globalUnicast.addSubnet('2000::', 3, 'ipv6');
/** Ranges whose addresses contain an IPv4 address, possibly a private one: 6to4 and Teredo. */
const tunnels = new BlockList();
tunnels.addSubnet('2002::', 16, 'ipv6');
tunnels.addSubnet('2001::', 32, 'ipv6');

/** Names of private networks. */
const privateNames = /(?:^|\.)(?:localhost|localdomain|local|internal|intranet|lan|home|corp|home\.arpa)$/;

/** Returns the reason why an address is risky; undefined for a public HTTPS address. */
export function riskOfAddress(address: string): string | undefined {
  if (!URL.canParse(address)) return 'its host is unknown';
  const { protocol, hostname } = new URL(address);
  const host = hostname.replace(/\.$/, '').replace(/^\[|\]$/g, '');
  const isUnencrypted = protocol !== 'https:';
  if (isPrivateHost(host))
    return `it is on this machine or in a private network${isUnencrypted ? ', without encryption' : ''}`;
  if (isUnencrypted) return 'the connection is not encrypted (no HTTPS)';
  return undefined;
}

/** Returns true for a private host. `host` is written as by the URL parser. */
function isPrivateHost(host: string): boolean {
  const version = isIP(host);
  if (version === 4) return notPublic.check(host, 'ipv4');
  if (version === 6) return !globalUnicast.check(host, 'ipv6') || tunnels.check(host, 'ipv6');
  return !host.includes('.') || privateNames.test(host);
}
