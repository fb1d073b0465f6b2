// Signed webhook events: an issue is opened at the repository host. Each issue is a separate conversation.

import { createHmac } from 'node:crypto';

export const secret = 'a secret of the benchmark';

export function signatureOf(body) {
  return `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
}

/**
 * Returns bodies with headers, for `load`. The delivery id is a further header, different in each request.
 */
export function signedEvents(conversations) {
  return Array.from({ length: conversations }, (_, at) => {
    const body = JSON.stringify(issueOpened(at + 1));
    return { body, headers: { 'X-GitHub-Event': 'issues', 'X-Hub-Signature-256': signatureOf(body) } };
  });
}

/** Returns a body of about 1 KB. */
function issueOpened(number) {
  const login = 'octocat';
  return {
    action: 'opened',
    issue: {
      id: 1_000_000 + number,
      number,
      title: `Something is wrong with part ${number}`,
      state: 'open',
      user: { login, id: 1, type: 'User' },
      body: 'It was so yesterday, and it is so today. '.repeat(12),
      labels: [],
    },
    repository: {
      id: 1296269,
      name: 'parts',
      full_name: `${login}/parts`,
      private: false,
      owner: { login, id: 1, type: 'User' },
      default_branch: 'main',
    },
    sender: { login, id: 1, type: 'User' },
  };
}
