import { expect, it } from 'vitest'
import { makeOne, priceSchedule } from '../../support/system/home.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'
import { signIn } from '../../support/web/console-visitor.ts'

const system = useSharedSystem()

/** Pages; of the costs, the part that the page loads. */
const names = [
  ...[
    'locations',
    'devices',
    'customers',
    'tariffs',
    'plans',
    'charges',
    'calendars',
    'costs/sums',
    'records',
    'sessions',
  ],
  ...['statements', 'simulations', 'prices', 'schedules', 'events', 'webhooks'],
]

const decoded = (text: string): string =>
  text.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&')

/** Read the request to paste of a page. */
const pastedRequest = (page: string) => {
  const [, block = ''] = /aria-label="Request to paste">([\s\S]*?)<\/pre>/.exec(page) ?? []
  const [, method = '', path = ''] = /^curl -X (\w+) "\$WATTLEDGER_URL"'([^']+)'/.exec(decoded(block)) ?? []
  const [, body = '{}'] = / -d '([^']+)'$/.exec(decoded(block)) ?? []
  return { method, path, body }
}

it('an empty page shows a request to paste that the API accepts', { timeout: 60_000 }, async () => {
  const { base_url: base, account_id: account, test_key: key } = system.sandbox()
  const visitor = await signIn(base, account, key)
  const requests = new Map<string, string>()
  for (const name of names) {
    const { text } = await visitor.get(`/console/${name}`)
    expect([name, text.includes('class="empty"')]).toEqual([name, true])
    // Two pages can show the same request.
    requests.set(JSON.stringify(pastedRequest(text)), name)
  }
  const client = await system.login()
  const ids = {
    loc: await makeOne(client, '/locations', { timezone: 'Europe/Berlin', currency_code: 'EUR' }),
    dev: await makeOne(client, '/devices', { reference_id: 'Pasted device' }),
    pln: await makeOne(client, '/plans', {
      name: 'Pasted plan',
      currency_code: 'EUR',
      tariffs: [{ direction: 'IMPORT', type: 'COMMODITY', schedule: priceSchedule(0.2) }],
    }),
  }
  const withIds = (text: string): string =>
    Object.entries(ids).reduce((result, [prefix, id]) => result.replaceAll(`${prefix}_…`, id), text)
  const answers: [string, number, string][] = []
  for (const [request, name] of requests) {
    const { method, path, body } = JSON.parse(request) as ReturnType<typeof pastedRequest>
    const { status, text } = await client.send(method, withIds(path), JSON.parse(withIds(body)) as object)
    answers.push([name, status, status < 300 ? '' : text])
  }
  expect(answers.filter(([, status]) => status >= 300)).toEqual([])
})
