// Checks write permissions for a repository. Administrators get the list of all writers. Other tokens can
// read only permissions that a user has directly.
//
// Effective permissions also come from groups and projects. A direct permission therefore proves write
// access, but a missing one proves nothing.

import { path } from '../../../../libs/rest/path.ts';
import { DeliveryError } from '../../../events/outbox/delivery-error.ts';
import { memberOf, textMember } from '../../payloads/payload-member.ts';
import type { RepoSender } from '../host.ts';
import type { RepoRest } from '../rest.ts';
import { accountOf } from './account.ts';
import { pageAfter } from './pages.ts';

/** Maximum number of pages, of a hundred users each. */
const MAX_PAGES = 20;
const WRITE_PERMISSIONS: ReadonlySet<string | undefined> = new Set(['write', 'admin']);

/**
 * Returns true if the sender may write. Rejects with a DeliveryError, which is final if the token may not
 * read permissions.
 */
export async function mayWrite(
  rest: RepoRest,
  repository: string,
  sender: RepoSender,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    return await isListed(rest, repository, sender, signal);
  } catch (error) {
    const fault = error as DeliveryError;
    if (!fault.isFinal) throw fault;
    if (fault.platformCode === 403 && (await hasDirectPermission(rest, repository, sender, signal)))
      return true;
    throw withRight(fault, repository);
  }
}

async function isListed(
  rest: RepoRest,
  repository: string,
  { name, id }: RepoSender,
  signal: AbortSignal,
): Promise<boolean> {
  const [workspace = '', slug = ''] = repository.split('/');
  const writers = path`/workspaces/${workspace}/permissions/repositories/${slug}`;
  const what = `the writers of ${repository}`;
  let page: string | undefined = `${writers}?pagelen=100&q=${encodeURIComponent('permission>"read"')}`;
  for (let count = 0; page !== undefined; count += 1) {
    if (count === MAX_PAGES)
      throw new DeliveryError(`${repository} has more writers than the gateway reads; cannot check ${name}`, {
        isFinal: true,
      });
    const { data } = await rest.read(page, what, signal);
    const all = memberOf(data, 'values');
    if (!Array.isArray(all)) throw new DeliveryError(`the host returned no list for ${what}`);
    const writer: unknown = all.find((each) => accountOf(memberOf(each, 'user')) === id);
    if (writer !== undefined) return WRITE_PERMISSIONS.has(textMember(writer, 'permission'));
    page = pageAfter(writers, data);
  }
  return false;
}

/** Returns true if the user has write permission directly; false if not, or if unknown. */
async function hasDirectPermission(
  rest: RepoRest,
  repository: string,
  { name, id }: RepoSender,
  signal: AbortSignal,
): Promise<boolean> {
  const user = `/repositories/${repository}/permissions-config${path`/users/${id}`}`;
  try {
    const { data } = await rest.read(user, `the permission of ${name} in ${repository}`, signal);
    return WRITE_PERMISSIONS.has(textMember(data, 'permission'));
  } catch (error) {
    const fault = error as DeliveryError;
    if (fault.isFinal) return false;
    throw fault;
  }
}

function withRight(fault: DeliveryError, repository: string): DeliveryError {
  const { message, platformCode } = fault;
  if (platformCode === undefined) return fault;
  const right =
    platformCode === 401
      ? 'the token is invalid or expired'
      : `the token needs admin permission for ${repository} to read permissions`;
  return new DeliveryError(`${message}: ${right}`, { cause: fault, platformCode, isFinal: true });
}
