import { expect, it } from 'vitest'
import { makeOne } from '../../support/system/home.ts'
import { useSystem } from '../../support/system/use-system.ts'
import { signIn } from '../../support/web/console-visitor.ts'

const system = useSystem()

it('a shown undo works after a restart of the service, and a lost one leaves the change', async () => {
  const body = { reference_id: 'First name', timezone: 'Europe/Berlin', currency_code: 'EUR' }
  const id = await makeOne(await system.login(), '/locations', body)
  const name = async () =>
    ((await (await system.login()).ask('GET', `/locations/${id}`)) as { reference_id: string }).reference_id
  const page = `/console/locations/${id}`
  const { base_url: base, account_id: account, test_key: key } = system.sandbox()
  const visitor = await signIn(base, account, key)
  await visitor.send(`${page}/edit`, `${page}/edit`, { ...body, reference_id: 'Second name' })
  const shown = (await visitor.get(`${page}?done=saved`)).text
  const [, form = ''] = shown.split(`class="undo" method="post" action="${page}/edit">`)
  const hidden = [...(form.split('</form>')[0] ?? '').matchAll(/name="(\w+)" value="([^"]*)"/g)]
  const fields = hidden.map(([, member = '', value = '']): [string, string] => [member, value])
  await visitor.send(`${page}/edit`, `${page}/edit`, { ...body, reference_id: 'Third name' })
  await system.killAndStart()

  const { base_url: next } = system.sandbox()
  const cookie = [...visitor.cookies].map(pair => pair.join('=')).join('; ')
  const get = async (path: string) => (await fetch(next + path, { headers: { cookie } })).text()
  const saved = await get(`${page}?done=saved`)
  expect(saved).toContain('Changes saved.')
  expect(saved).not.toContain('Undo this change')
  expect(await name()).toBe('Third name')
  const undone = await fetch(`${next}${page}/edit`, {
    method: 'POST',
    redirect: 'manual',
    headers: { cookie, origin: next },
    body: new URLSearchParams(fields),
  })
  expect([undone.status, await name()]).toEqual([303, 'First name'])
}, 60_000)
