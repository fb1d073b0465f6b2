// Entry point of the page: renders it and opens the feed, whose messages update the store.

import { render } from 'preact';
import { App } from './app.tsx';
import { connect } from './feed/connection.ts';
import { PageStore } from './feed/page-store.ts';

// The links are relative. The browser loads the icon again when the page changes its address.
for (const link of document.querySelectorAll('link')) link.setAttribute('href', link.href);

const store = new PageStore();
const root = document.getElementById('page');
if (root !== null) render(<App store={store} />, root);
connect({
  onMessage: (message) => store.take(message),
  onStatus: (status) => store.setConnectionStatus(status),
});
