import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { StaticContent } from '../../platform/http/binding.ts'
import { asMarkup, type Html, html } from './html.ts'

const readText = (name: string): string => readFileSync(new URL(name, import.meta.url), 'utf8')

const style = [
  'base.css',
  ...['side.css', 'text.css', 'fields.css', 'chart.css', 'small.css'].map(name => `../reference/${name}`),
  '../documentation/documentation.css',
]
  .map(readText)
  .join('\n')
const script = readText('../reference/page.js')

/** Icon of the product. */
export const icon =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#0f7a55"/><path d="M18 5 8 18h6l-2 9 12-14h-7z" fill="#fff"/></svg>'

const cspHash = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`

/** Images and forms of a page: `own` also allows those of this service. */
type Resources = 'none' | 'own'

const contentSecurityPolicy = (resources: Resources): string =>
  [
    "default-src 'none'",
    `style-src ${cspHash(style)}`,
    `script-src ${cspHash(script)}`,
    resources === 'own' ? "img-src data: 'self'" : 'img-src data:',
    "base-uri 'none'",
    resources === 'own' ? "form-action 'self'" : "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')

const headersOf = (resources: Resources) => ({
  'Content-Security-Policy': contentSecurityPolicy(resources),
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'no-cache',
})

const headers = { none: headersOf('none'), own: headersOf('own') }

/** Name and icon of the product, with a link to the start page. */
export const brand: Html = html`<a class="brand" href="/" aria-label="Wattledger">${asMarkup(icon.replace('<svg ', '<svg aria-hidden="true" '))}<span>Wattledger</span></a>`

/**
 * Create a page that includes its style, script and icon. Its policy allows no request; with `own` resources it allows
 * images and forms of this service.
 */
export const pageContent = (title: string, body: Html, resources: Resources = 'none'): StaticContent => ({
  status: 200,
  mediaType: 'text/html; charset=utf-8',
  headers: headers[resources],
  body: String(html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:image/svg+xml,${encodeURIComponent(icon)}">
<style>${asMarkup(style)}</style>
</head>
${body}
<script>${asMarkup(script)}</script>
</html>
`),
})
