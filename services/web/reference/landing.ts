import { apiVersionDates, apiVersions } from '../../contract/api-version.ts'
import type { StaticContent } from '../../platform/http/binding.ts'
import { brand, pageContent } from '../ui-kit/frame.ts'
import { type Html, html } from '../ui-kit/html.ts'
import { baseAddress, codeBlock, shellMarkup } from './code-markup.ts'

const cardItem = (address: string, title: string, text: string): Html =>
  html`<li><a href="${address}"><strong>${title}</strong><span>${text}</span></a></li>`

/** Create the page for unknown paths, with links to the other pages. */
export const notFoundPage = (): StaticContent => ({
  ...pageContent(
    'Page not found',
    html`<body class="landing">
<header class="bar">${brand}</header>
<main>
<h1>Page not found</h1>
<p class="lead">This page does not exist. Check the address, or open one of these pages.</p>
<ul class="cards">
${cardItem('/', 'Start', 'Overview and first request')}
${cardItem('/docs', 'Documentation', 'Guides, tariff cookbook, rules, full-text search')}
${cardItem('/docs/api', 'API reference', 'Every operation, with requests to paste')}
${cardItem('/console', 'Console', 'Keys, webhooks, events, and the prices and costs of each location')}
</ul>
</main>
</body>`,
  ),
  status: 404,
})

const firstRequest = `KEY=$(node -p "require('./data/sandbox.json').test_key")
curl ${baseAddress}/account -H "Authorization: Bearer $KEY"`

/** Create the start page. */
export const landingPage = (): StaticContent =>
  pageContent(
    'Wattledger',
    html`<body class="landing">
<header class="bar">${brand}</header>
<main>
<h1>Exact energy costs from meter readings.</h1>
<p class="lead">This Wattledger service runs at <code class="base">${baseAddress}</code>. It calculates
the costs of energy records of chargers, batteries and meters. It recalculates them if tariffs, market prices or records change.</p>
<ul class="cards">
${cardItem('/docs', 'Documentation', 'Guides, tariff cookbook, rules, full-text search')}
${cardItem('/docs/api', 'API reference', 'Every operation, with requests to paste')}
${cardItem('/console', 'Console', 'Keys, webhooks, events, and the prices and costs of each location')}
${apiVersions.map(apiVersion =>
  cardItem(
    `/openapi/${apiVersion}.json`,
    `OpenAPI, ${apiVersion} version`,
    `API version ${apiVersionDates[apiVersion]}`,
  ),
)}
${cardItem('/health/ready', 'Health', 'Status of the stores')}
</ul>
<h2>First request</h2>
<p>Send an API key with each request. The first start wrote two keys to <code>data/sandbox.json</code>. Use the key for test mode first.</p>
${codeBlock('Shell', shellMarkup(firstRequest))}
</main>
</body>`,
  )
