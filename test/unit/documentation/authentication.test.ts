import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { operations } from '../../../services/operations.ts'
import { createApp } from '../../../services/platform/http/app.ts'
import { welcome } from '../../../services/sandbox.ts'
import { notFoundPage } from '../../../services/web/reference/landing.ts'
import { referencePages } from '../../../services/web/reference/reference-page.ts'
import { testApp } from '../../support/http/http-app.ts'

const app = createApp([], referencePages(operations), { ...testApp().ports, notFoundPage })

/** Return the text of a page without the section of the login, which describes the other way. */
const pageText = async (path: string): Promise<string> => {
  const markup = await (await app.request(path)).text()
  return markup
    .replace(/<section[^>]* id="account_login"[\s\S]*?<\/section>/, '')
    .replaceAll(/<nav[\s\S]*?<\/nav>|<script>[\s\S]*?<\/script>/g, '')
    .replaceAll(/<[^<>]*>/g, '')
    .replaceAll('&quot;', '"')
}

const system = {
  baseUrl: 'http://127.0.0.1:8080',
  metricsUrl: '',
  isFirstStart: true,
  sandbox: { base_url: '', account_id: 'acc_1', live_key: 'sk_live_1', test_key: 'sk_test_1', operator_key: 'opk_1' },
}

/** Texts that teach a newcomer the first request. */
const first: Readonly<Record<string, () => string | Promise<string>>> = {
  'README.md': () => readFileSync('README.md', 'utf8'),
  'docs/quickstart.md': () => readFileSync('docs/quickstart.md', 'utf8'),
  'the welcome text': () => welcome(system, '/data', 1),
  '/': () => pageText('/'),
  '/docs/api': () => pageText('/docs/api'),
  '/docs/api/earlier': () => pageText('/docs/api/earlier'),
}

/** Guides, which show requests without the rules of the other ways. */
const guides = Object.fromEntries(
  readdirSync('docs')
    .filter(
      name =>
        name.endsWith('.md') &&
        !['audit-log.md', 'choices.md', 'decisions.md', 'promises.md', 'errors.md'].includes(name),
    )
    .map(name => [`docs/${name}`, () => readFileSync(`docs/${name}`, 'utf8')]),
)

/** Signs of another way to authenticate: a login, a token, Basic. */
const otherWays = /\/login\b(?!\.)|bearer_token|\$TOKEN|\bcurl\b[^\n]*\s-u\s|-u "\$|[Ll]og in with/g

const found = (text: string): readonly string[] => [...text.matchAll(otherWays)].map(([match]) => match)

describe('the texts for the first request', () => {
  it.each(Object.entries(first))('%s sends the key as Bearer', async (_, read) => {
    const text = await read()
    expect(text).toContain('-H "Authorization: Bearer $KEY"')
    expect(text).toMatch(/\bKEY=/)
  })

  it.each(Object.entries({ ...first, ...guides }))('%s teaches no other way to authenticate', async (_, read) => {
    expect(found(await read())).toEqual([])
  })

  it('have the login in the rules', () => {
    expect(readFileSync('docs/rules/authentication.md', 'utf8')).toContain('`GET /login`')
  })

  it.each([
    'TOKEN=$(curl -s -u acc:key http://127.0.0.1:8080/login)',
    'curl -u "$ACCOUNT_ID:$API_KEY" http://127.0.0.1:8080/account',
    'curl http://127.0.0.1:8080/account -H "Authorization: Bearer $TOKEN"',
  ])('are refused with %s', text => {
    expect(found(text)).not.toEqual([])
  })
})
