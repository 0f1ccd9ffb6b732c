import { expect, it } from 'vitest'
import { runCommand } from '../../support/system/run-command.ts'
import { useSystem } from '../../support/system/use-system.ts'

const system = useSystem()

/** Run a command without the port of the service in its settings, as in another terminal. */
const linkOf = async (...args: readonly string[]): Promise<{ readonly id: string; readonly link: string }> => {
  const { code, out, err } = await runCommand([...args, '--json'], { WATTLEDGER_DATA_DIR: system.folder })
  expect([code, err]).toEqual([0, ''])
  return JSON.parse(out)
}

it('users add-owner and users reset print a link to the running service', async () => {
  const owner = await linkOf('users', 'add-owner', 'owner@example.com')
  expect(owner.link.startsWith(`${system.sandbox().base_url}/console/invitation?token=`)).toBe(true)
  expect((await fetch(owner.link)).status).toBe(200)
  const renewed = await linkOf('users', 'reset', owner.id)
  expect((await fetch(renewed.link)).status).toBe(200)
  expect((await fetch(owner.link)).status).toBe(404)
})
