// To which services messages may go. Each activity names the one for its conversation; messages there carry our token, so only
// hosts of the vendor and those that the trigger's file names are believed.
//
// TCS1  https, without user name, query and fragment; a host is compared whole, never by how it begins or ends.
// TCS2  http for a service on this machine, which the file names with http:// and its port: the vendor's emulator is one.

import type { TeamChatConfig } from '../../../config/resources/platforms/teamchat.ts';

/** As the vendor's pages on networks and on its test chats name them. */
const KNOWN = new Set([
  'smba.trafficmanager.net',
  'smba.infra.gcc.teams.microsoft.com',
  'webchat.botframework.com',
  'directline.botframework.com',
]);

export function isServiceAllowed(
  serviceUrl: string,
  { service_url_allow }: Pick<TeamChatConfig, 'service_url_allow'>,
): boolean {
  // An empty query is none for the parser, and would still have what is put behind the address be no part of its path.
  if (/[?#]/.test(serviceUrl) || !URL.canParse(serviceUrl)) return false;
  const { protocol, host, hostname, port, username, password } = new URL(serviceUrl);
  if (username !== '' || password !== '') return false;
  if (protocol === 'http:') return service_url_allow.includes(`http://${host}`);
  if (protocol !== 'https:') return false;
  if (port === '' && KNOWN.has(hostname)) return true;
  return service_url_allow.some((item) => item === host || item === hostname || item === `${host}:443`);
}
