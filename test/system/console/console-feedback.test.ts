import { expect, it } from 'vitest'
import { makeOne } from '../../support/system/home.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'
import { signIn } from '../../support/web/console-visitor.ts'

const system = useSharedSystem()

it('a change shows its request once, and can be undone', async () => {
  const { base_url: base, account_id: account, test_key: key } = system.sandbox()
  const client = await system.login()
  const body = { reference_id: 'Undo site', timezone: 'Europe/Berlin', currency_code: 'EUR' }
  const id = await makeOne(client, '/locations', body)
  const [visitor, other] = [await signIn(base, account, key), await signIn(base, account, key)]
  const page = `/console/locations/${id}`
  const name = async () => ((await client.ask('GET', `/locations/${id}`)) as { reference_id: string }).reference_id
  const changed = await visitor.send(`${page}/edit`, `${page}/edit`, {
    ...body,
    reference_id: 'New name',
  })
  expect([changed.to, await name()]).toEqual([`${page}?done=saved`, 'New name'])
  expect((await other.get(`${page}?done=saved`)).text).not.toContain('Undo this change')

  const shown = await visitor.get(`${page}?done=saved`)
  expect(shown.text).toContain('As curl: the request of your change')
  expect(shown.text).toContain(`curl -X PATCH &quot;$WATTLEDGER_URL&quot;&#39;/locations/${id}&#39;`)
  expect(shown.text).toContain('Undo this change')
  const [, form = ''] = shown.text.split(`class="undo" method="post" action="${page}/edit">`)
  const hidden = [...(form.split('</form>')[0] ?? '').matchAll(/name="(\w+)" value="([^"]*)"/g)]
  const fields = Object.fromEntries(hidden.map(([, member = '', value = '']) => [member, value]))
  expect(fields['reference_id']).toBe('Undo site')
  expect((await visitor.get(`${page}?done=saved`)).text).not.toContain('Undo this change')
  const undone = await visitor.send(`${page}/edit`, `${page}/edit`, fields)
  expect([undone.to, await name()]).toEqual([`${page}?done=saved`, 'Undo site'])
})
