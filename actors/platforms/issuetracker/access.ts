// Services for a tracker account: its identity, query matches, own comments and the API client. Triggers with
// the same credentials share one instance, also across reloads.

import type { IssueTrackerTrigger } from '../../../config/resources/triggers/trigger.ts';
import { HttpApi } from '../../../libs/rest/http-api.ts';
import type { Store } from '../../store/store.ts';
import { OwnAccount } from '../accounts/own-account.ts';
import { textMember } from '../payloads/payload-member.ts';
import { IssueTrackerApi } from './api.ts';
import { trackerAccount } from './event.ts';
import { JqlMatch } from './jql-match.ts';
import { OwnComments } from './own-comments.ts';
import { TrackerLookup } from './tracker-lookup.ts';

/** Minimum pause, after failures, between requests for the token's account. */
const USER_RETRY_MS = 60_000;

export class TrackerAccess {
  /** Account of the token's user, by id. */
  readonly own: OwnAccount;
  readonly matches: JqlMatch;
  readonly comments: OwnComments;
  readonly api: IssueTrackerApi;

  /** The trigger must have credentials. */
  constructor(trigger: IssueTrackerTrigger, store: Pick<Store, 'get' | 'put'>, userRetryMs = USER_RETRY_MS) {
    const { base_url: baseUrl, email = '', api_token = '' } = trigger.config;
    const basic = Buffer.from(`${email}:${api_token}`).toString('base64');
    const api = new HttpApi({
      baseUrl,
      headers: { authorization: `Basic ${basic}` },
      secrets: [api_token, basic],
    });
    const request = api.request.bind(api);
    this.own = new OwnAccount(async () => {
      const lookup = new TrackerLookup(request, "read the token's account");
      const response = await lookup.send({ path: '/rest/api/3/myself' });
      const id = textMember(response.json, 'accountId', 'name');
      if (!response.isOk || id === undefined) throw lookup.faultOf(response);
      return id;
    }, userRetryMs);
    this.matches = new JqlMatch(request, api.host, `${email} ${trackerAccount(trigger)}`, store);
    this.comments = new OwnComments(request, trackerAccount(trigger), store);
    this.api = new IssueTrackerApi(api);
  }
}
