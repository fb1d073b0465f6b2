// The whole command line of the browser: nothing comes from Playwright's defaults, which turn the sandbox off, the popup
// blocker off and background pages up.
//
// 1. Every packet leaves through the proxy: loopback too, no QUIC, no UDP of WebRTC, no name lookups of its own.
// 2. The sandbox is left out only where the operator said so.
// 3. The connection to it is a pair of pipes that it inherits; there is no debugging port. When the pipes close, it ends.

export interface FlagChoices {
  readonly profile: string;
  readonly proxyPort: number;
  readonly isHeadless: boolean;
  readonly isSandboxed: boolean;
}

/** Features that call home, look for devices in the network, or stand in the way of a browser that nobody looks at. */
const DISABLED_FEATURES = [
  'AimEnabled',
  'AutofillServerCommunication',
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'CertificateTransparencyComponentUpdater',
  'DestroyProfileOnBrowserClose',
  'DialMediaRouteProvider',
  'DnsOverHttps',
  'GlobalMediaControls',
  'HttpsFirstBalancedModeAutoEnable',
  'HttpsUpgrades',
  'InterestFeedContentSuggestions',
  'MediaRouter',
  'NetworkTimeServiceQuerying',
  'OptimizationHints',
  'PaintHolding',
  'PreconnectToSearch',
  'Translate',
  'WebOTP',
  'WebTransport',
];

const ENABLED_FEATURES = ['CDPScreenshotNewSurface', 'SkipListAccountsWithoutGaiaCookies'];

/** The arguments of Chromium or Chrome. */
export function chromiumFlags(choices: FlagChoices): string[] {
  const { profile, proxyPort, isHeadless, isSandboxed } = choices;
  return [
    `--user-data-dir=${profile}`,
    '--remote-debugging-pipe',
    '--no-startup-window',
    ...(isHeadless ? ['--headless', '--hide-scrollbars'] : []),
    ...(isSandboxed ? [] : ['--no-sandbox']),
    // Where packets may go.
    `--proxy-server=http://127.0.0.1:${proxyPort}`,
    '--proxy-bypass-list=<-loopback>',
    '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1',
    '--disable-quic',
    '--webrtc-ip-handling-policy=disable_non_proxied_udp',
    '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
    // Nothing that the page did not ask for.
    '--allow-browser-signin=false',
    '--component-updater=url-source=http://none.invalid/',
    '--gaia-url=http://none.invalid',
    '--disable-background-networking',
    '--disable-client-side-phishing-detection',
    '--disable-component-extensions-with-background-pages',
    '--disable-component-update',
    '--disable-default-apps',
    '--disable-domain-reliability',
    '--disable-extensions',
    '--disable-field-trial-config',
    '--disable-sync',
    '--dns-prefetch-disable',
    '--metrics-recording-only',
    '--no-pings',
    '--no-service-autorun',
    '--disable-updater-scheduler',
    '--safebrowsing-disable-auto-update',
    `--disable-features=${DISABLED_FEATURES.join(',')}`,
    `--enable-features=${ENABLED_FEATURES.join(',')}`,
    // Nobody is there to answer, and nothing is kept.
    '--allow-pre-commit-input',
    '--deny-permission-prompts',
    '--disable-back-forward-cache',
    '--disable-background-timer-throttling',
    '--disable-backgrounding-occluded-windows',
    '--disable-breakpad',
    '--disable-crash-reporter',
    '--disable-dev-shm-usage',
    '--disable-hang-monitor',
    '--disable-infobars',
    '--disable-notifications',
    '--disable-prompt-on-repost',
    '--disable-renderer-backgrounding',
    '--disable-search-engine-choice-screen',
    '--enable-unsafe-swiftshader',
    '--force-color-profile=srgb',
    '--mute-audio',
    '--no-default-browser-check',
    '--no-first-run',
    '--password-store=basic',
    '--use-mock-keychain',
  ];
}
