import { readFileSync } from 'node:fs'
import { imageSources } from '../../contract/registry/account-pages.ts'
import { countryCodes } from '../../platform/geocoding/country.ts'
import type { StaticContent, StaticRoute } from '../../platform/http/binding.ts'
import { asMarkup, html } from '../ui-kit/html.ts'

const readText = (lastSegment: string): string => readFileSync(new URL(lastSegment, import.meta.url), 'utf8')

const moduleFiles = [
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

const staticFile = (path: string, mediaType: string, read: () => string): StaticRoute => {
  let content: StaticContent | undefined
  return {
    path,
    read: async () => {
      content ??= { status: 200, mediaType: `${mediaType}; charset=utf-8`, headers, body: read() }
      return content
    },
  }
}

/** Addresses of the pictures that the page of a session may show: of its account and of suppliers. `token` names the session. */
type ReadLogoUrls = (token: string | null) => Promise<readonly string[]>

/** The page itself is made once; its policy names the hosts of the pictures that there are. */
const sessionPageRoute = (path: string, filesPath: string, readLogoUrls: ReadLogoUrls): StaticRoute => {
  let body: string | undefined
  return {
    path,
    read: async (_, query) => {
      body ??= sessionPage(filesPath)
      return {
        status: 200,
        mediaType: 'text/html; charset=utf-8',
        headers: headersOf(await readLogoUrls(query.get('fp_cot'))),
        body,
      }
    },
  }
}

/** The page of a session. Its files are named relative to it, so that it works wherever it is mounted. */
const sessionPage = (filesPath: string): string =>
  html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Connect your tariff</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${filesPath}/connect.css">
<script type="application/json" id="countries">${asMarkup(JSON.stringify(countryCodes()))}</script>
<script type="module" src="${filesPath}/start.js"></script>
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
export const connectPages = (path: string, readLogoUrls: ReadLogoUrls): readonly StaticRoute[] => {
  const lastSegment = path.slice(path.lastIndexOf('/') + 1)
  return [
    sessionPageRoute(path, `${lastSegment}/page`, readLogoUrls),
    sessionPageRoute(`${path}/`, 'page', readLogoUrls),
    ...moduleFiles.map(module => staticFile(`${path}/page/${module}`, 'text/javascript', () => readText(module))),
    staticFile(`${path}/page/connect.css`, 'text/css', () => `${readText('connect.css')}\n${readText('buttons.css')}`),
  ]
}
