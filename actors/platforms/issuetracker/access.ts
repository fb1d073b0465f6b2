// An account of ours at a tracker: who it is, which issues match a query, and which comments we have written. Triggers that have the
// same one share it, over reloads too.

import type { IssueTrackerTrigger } from '../../../config/resources/triggers/trigger.ts';
import { HttpApi } from '../../../libs/rest/http-api.ts';
import type { Store } from '../../store/store.ts';
import { OwnAccount } from '../accounts/own-account.ts';
import { textMember } from '../payloads/payload-member.ts';
import { IssueTrackerApi } from './api.ts';
import { trackerAccount } from './event.ts';
import { JqlMatch } from './jql-match.ts';
import { OwnComments } from './own-comments.ts';
import { TrackerQuestion } from './question.ts';

/** How soon a tracker that could not say whose token it is is asked again. */
const ASK_ACCOUNT_EVERY_MS = 60_000;

export class TrackerAccess {
  /** By the id of the account. */
  readonly own: OwnAccount;
  readonly matches: JqlMatch;
  readonly comments: OwnComments;
  readonly api: IssueTrackerApi;

  /** The trigger must have the credentials of an account. */
  constructor(
    trigger: IssueTrackerTrigger,
    store: Pick<Store, 'get' | 'put'>,
    askAccountEveryMs = ASK_ACCOUNT_EVERY_MS,
  ) {
    const { base_url: baseUrl, email = '', api_token = '' } = trigger.config;
    const basic = Buffer.from(`${email}:${api_token}`).toString('base64');
    const api = new HttpApi({
      baseUrl,
      headers: { authorization: `Basic ${basic}` },
      secrets: [api_token, basic],
    });
    const ask = api.request.bind(api);
    this.own = new OwnAccount(async () => {
      const question = new TrackerQuestion(ask, 'whose token it is');
      const answer = await question.asked({ path: '/rest/api/3/myself' });
      const id = textMember(answer.json, 'accountId', 'name');
      if (!answer.isOk || id === undefined) throw question.faultOf(answer);
      return id;
    }, askAccountEveryMs);
    this.matches = new JqlMatch(ask, api.host, `${email} ${trackerAccount(trigger)}`, store);
    this.comments = new OwnComments(ask, trackerAccount(trigger), store);
    this.api = new IssueTrackerApi(api);
  }
}
