// Addresses that an entry of a registry may not lead to without being asked about: this machine, its networks, and HTTP in the clear. A host
// name is judged as it is written; no name is resolved, since its address can change at any time.

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
/** Within the only range from which public addresses of version 6 are given. */
const globalUnicast = new BlockList();
globalUnicast.addSubnet('2000::', 3, 'ipv6');
/** Ranges with an address of version 4 in them: 6to4 and Teredo. */
const tunnels = new BlockList();
tunnels.addSubnet('2002::', 16, 'ipv6');
tunnels.addSubnet('2001::', 32, 'ipv6');

/** Names of one's own networks. `home.arpa`, `internal` and `local` are reserved for them. */
const ownNames = /(?:^|\.)(?:localhost|localdomain|local|internal|intranet|lan|home|corp|home\.arpa)$/;

/** Returns why an address of a server is risky; undefined for a public one with HTTPS. */
export function riskOfAddress(address: string): string | undefined {
  if (!URL.canParse(address)) return 'its host is not known yet';
  const { protocol, hostname } = new URL(address);
  const host = hostname.replace(/\.$/, '').replace(/^\[|\]$/g, '');
  const isInClear = protocol !== 'https:';
  if (isPrivateHost(host))
    return `it is on this machine or in a private network${isInClear ? ', in the clear' : ''}`;
  if (isInClear) return 'what is sent there can be read on the way (no HTTPS)';
  return undefined;
}

/** Returns whether a host, as the URL parser writes it, is not on the public internet. */
function isPrivateHost(host: string): boolean {
  const version = isIP(host);
  if (version === 4) return notPublic.check(host, 'ipv4');
  if (version === 6) return !globalUnicast.check(host, 'ipv6') || tunnels.check(host, 'ipv6');
  return !host.includes('.') || ownNames.test(host);
}
