// Decides whether messages may be sent to a service URL. Activities contain the service URL of their
// conversation, and requests to it carry the bot's token, so only hosts of the vendor and configured hosts
// are allowed.
//
// The URL must be https, without user name, query and fragment; hosts are compared as a whole. http is
// allowed only for a configured local service, such as the vendor's emulator.

import type { TeamChatConfig } from '../../../config/resources/platforms/teamchat.ts';

/** Hosts that the vendor documents for its networks and for test chats. */
const VENDOR_HOSTS = new Set([
  'smba.trafficmanager.net',
  'smba.infra.gcc.teams.microsoft.com',
  'webchat.botframework.com',
  'directline.botframework.com',
]);

export function isServiceAllowed(
  serviceUrl: string,
  { service_url_allow }: Pick<TeamChatConfig, 'service_url_allow'>,
): boolean {
  // The URL parser drops an empty query, but the path appended later would become part of it.
  if (/[?#]/.test(serviceUrl) || !URL.canParse(serviceUrl)) return false;
  const { protocol, host, hostname, port, username, password } = new URL(serviceUrl);
  if (username !== '' || password !== '') return false;
  if (protocol === 'http:') return service_url_allow.includes(`http://${host}`);
  if (protocol !== 'https:') return false;
  if (port === '' && VENDOR_HOSTS.has(hostname)) return true;
  return service_url_allow.some((item) => item === host || item === hostname || item === `${host}:443`);
}
