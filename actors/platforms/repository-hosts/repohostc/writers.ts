// Who may write to a repository. The host tells whoever may administrate it, and lists all who may; the rights that somebody was
// given by name are told apart from those, to tokens that may not see the list.
//
// Rights by name are less than those one has, by groups or a project: they may prove that somebody may write, and not that
// nobody may.

import { path } from '../../../../libs/rest/path.ts';
import { DeliveryError } from '../../../events/outbox/delivery-error.ts';
import { memberOf, textMember } from '../../payloads/payload-member.ts';
import type { RepoSender } from '../host.ts';
import type { RepoRest } from '../rest.ts';
import { accountOf } from './account.ts';
import { pageAfter } from './pages.ts';

/** Of a hundred people each. */
const MAX_PAGES = 20;
const WRITING: ReadonlySet<string | undefined> = new Set(['write', 'admin']);

/** Rejects with a DeliveryError, finally where the token may not ask. */
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
    if (fault.platformCode === 403 && (await isGivenByName(rest, repository, sender, signal))) return true;
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
  const what = `who may write to ${repository}`;
  let page: string | undefined = `${writers}?pagelen=100&q=${encodeURIComponent('permission>"read"')}`;
  for (let count = 0; page !== undefined; count += 1) {
    if (count === MAX_PAGES)
      throw new DeliveryError(
        `there are more who may write to ${repository} than are looked at for ${name}`,
        {
          isFinal: true,
        },
      );
    const { data } = await rest.read(page, what, signal);
    const all = memberOf(data, 'values');
    if (!Array.isArray(all)) throw new DeliveryError(`the host answered ${what} with no list`);
    const found: unknown = all.find((each) => accountOf(memberOf(each, 'user')) === id);
    if (found !== undefined) return WRITING.has(textMember(found, 'permission'));
    page = pageAfter(writers, data);
  }
  return false;
}

/** False where that cannot be known. */
async function isGivenByName(
  rest: RepoRest,
  repository: string,
  { name, id }: RepoSender,
  signal: AbortSignal,
): Promise<boolean> {
  const user = `/repositories/${repository}/permissions-config${path`/users/${id}`}`;
  try {
    const { data } = await rest.read(user, `whether ${name} may write to ${repository}`, signal);
    return WRITING.has(textMember(data, 'permission'));
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
      ? 'the token is not valid (any more)'
      : `the token must be one that may administrate ${repository}, to know who may command`;
  return new DeliveryError(`${message}: ${right}`, { cause: fault, platformCode, isFinal: true });
}
