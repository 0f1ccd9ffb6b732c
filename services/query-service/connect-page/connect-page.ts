import { readFileSync } from 'node:fs'
import { imageSources } from '../../contract/image-origin.ts'
import type { Page, PageContent } from '../../platform/http/binding.ts'
import { countryCodes } from '../../platform/place/country.ts'
import { asMarkup, html } from '../reference/html.ts'

const textOf = (name: string): string => readFileSync(new URL(name, import.meta.url), 'utf8')

const modules = [
  'start.js',
  'call.js',
  'element.js',
  'money.js',
  'chart.js',
  'areas.js',
  'dates.js',
  'address-pages.js',
  'tariff-pages.js',
  'advanced-page.js',
  'summary-pages.js',
]

/** Our own files, and pictures of suppliers from their hosts: no script or style in the page, no frame around it. The page's data is no script. */
const policyOf = (images: readonly string[]): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    imageSources(images),
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')

const headersOf = (images: readonly string[]) => ({
  'Content-Security-Policy': policyOf(images),
  'X-Content-Type-Options': 'nosniff',
  // The address holds the token.
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'no-cache',
})

const headers = headersOf([])

const file = (path: string, mediaType: string, read: () => string): Page => {
  let content: PageContent | undefined
  return {
    path,
    read: async () => {
      content ??= { status: 200, mediaType: `${mediaType}; charset=utf-8`, headers, body: read() }
      return content
    },
  }
}

/** Addresses of the pictures that the page of a session may show: of its account and of suppliers. `token` names the session. */
type LogoAddresses = (token: string | null) => Promise<readonly string[]>

/** The page itself is made once; its policy names the hosts of the pictures that there are. */
const shellPage = (path: string, files: string, logos: LogoAddresses): Page => {
  let body: string | undefined
  return {
    path,
    read: async (_, query) => {
      body ??= shell(files)
      return { status: 200, mediaType: 'text/html; charset=utf-8', headers: headersOf(await logos(query.get('fp_cot'))), body }
    },
  }
}

/** The page of a session. Its files are named relative to it, so that it works wherever it is mounted. */
const shell = (files: string): string =>
  html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Connect your tariff</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${files}/connect.css">
<script type="application/json" id="countries">${asMarkup(JSON.stringify(countryCodes()))}</script>
<script type="module" src="${files}/start.js"></script>
</head>
<body>
<div class="sheet">
<header class="bar"><button id="back" class="quiet" type="button" hidden>Back</button><span class="test">Test mode</span><button id="close" class="quiet" type="button" hidden>Close</button></header>
<main><p>One moment.</p><noscript><p>This page needs JavaScript.</p></noscript></main>
<footer id="account" hidden></footer>
</div>
</body>
</html>
`.markup

/**
 * Give the page of Connect at a path, with and without a slash at its end, and its files beneath it. The page begins where the session of its address (`fp_cot`) stands and
 * speaks to the path it was opened from, as any other client does.
 */
export const connectPages = (path: string, logos: LogoAddresses): readonly Page[] => {
  const name = path.slice(path.lastIndexOf('/') + 1)
  return [
    shellPage(path, `${name}/page`, logos),
    shellPage(`${path}/`, 'page', logos),
    ...modules.map(module => file(`${path}/page/${module}`, 'text/javascript', () => textOf(module))),
    file(`${path}/page/connect.css`, 'text/css', () => `${textOf('connect.css')}\n${textOf('buttons.css')}`),
  ]
}
