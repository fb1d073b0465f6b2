// Command line of the browser. The defaults of Playwright are not used, because they disable the sandbox and
// the popup blocker.
//
// 1. All traffic goes through the proxy, including loopback. QUIC, WebRTC over UDP and DNS lookups are
//    disabled.
// 2. Only the operator can disable the sandbox.
// 3. Playwright controls the browser through two inherited pipes, not through a debugging port. The browser
//    exits when they close.

export interface FlagOptions {
  readonly profile: string;
  readonly proxyPort: number;
  readonly isHeadless: boolean;
  readonly isSandboxed: boolean;
}

/** Features that contact the vendor, search the local network, or disturb an unattended browser. */
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

/** Returns the arguments for Chromium or Chrome. */
export function chromiumFlags(options: FlagOptions): string[] {
  const { profile, proxyPort, isHeadless, isSandboxed } = options;
  return [
    `--user-data-dir=${profile}`,
    '--remote-debugging-pipe',
    '--no-startup-window',
    ...(isHeadless ? ['--headless', '--hide-scrollbars'] : []),
    ...(isSandboxed ? [] : ['--no-sandbox']),
    // Network.
    `--proxy-server=http://127.0.0.1:${proxyPort}`,
    '--proxy-bypass-list=<-loopback>',
    '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1',
    '--disable-quic',
    '--webrtc-ip-handling-policy=disable_non_proxied_udp',
    '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
    // Disables traffic of the browser itself.
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
    // Unattended operation without stored state.
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
