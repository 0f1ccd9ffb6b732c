import { apiVersionDates, apiVersions } from '../../contract/api-version.ts'
import type { StaticContent } from '../../platform/http/binding.ts'
import { brand, pageContent } from '../ui-kit/frame.ts'
import { type Html, html } from '../ui-kit/html.ts'
import { codeBlock, shellMarkup } from './operation-section.ts'
import { baseAddress } from './request-example.ts'

const cardItem = (address: string, title: string, text: string): Html =>
  html`<li><a href="${address}"><strong>${title}</strong><span>${text}</span></a></li>`

/** Tell a person that a path leads nowhere, and where to go. */
export const notFoundPage = (): StaticContent => ({
  ...pageContent(
    'Page not found',
    html`<body class="landing">
<header class="bar">${brand}</header>
<main>
<h1>Page not found</h1>
<p class="lead">This address does not exist. Check the spelling, or go to one of these pages.</p>
<ul class="cards">
${cardItem('/', 'Start', 'What runs here, and the first request')}
${cardItem('/docs', 'API reference', 'Every operation, with requests to paste')}
${cardItem('/console', 'Console', 'Keys, webhooks, events, and the prices and costs of each location')}
</ul>
</main>
</body>`,
  ),
  status: 404,
})

const loginCommand = `curl -u "$ACCOUNT_ID:$API_KEY" ${baseAddress}/login`

/** Say what runs at this address, and where to go from here. */
export const landingPage = (): StaticContent =>
  pageContent(
    'Wattledger',
    html`<body class="landing">
<header class="bar">${brand}</header>
<main>
<h1>Meter readings in, exact money out.</h1>
<p class="lead">A Wattledger service runs at <code class="base">${baseAddress}</code>. It prices the energy records of chargers, batteries and meters, and keeps every cost true when tariffs, market prices or records change.</p>
<ul class="cards">
${cardItem('/docs', 'API reference', 'Every operation, with requests to paste')}
${cardItem('/console', 'Console', 'Keys, webhooks, events, and the prices and costs of each location')}
${apiVersions.map(apiVersion => cardItem(`/openapi/${apiVersion}.json`, `OpenAPI, ${apiVersion} layout`, `Version ${apiVersionDates[apiVersion]}, for machines`))}
${cardItem('/health/ready', 'Health', 'Whether the stores answer')}
</ul>
<h2>Begin</h2>
<p>Log in with an account id and an API key. The answer holds the token that all other requests send.</p>
${codeBlock('Shell', shellMarkup(loginCommand))}
</main>
</body>`,
  )
