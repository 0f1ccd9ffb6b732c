import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Provider } from 'oidc-provider'

export const clientId = 'wattledger'
export const clientSecret = 'a client secret of the tests'

/** A running provider. `authorize` logs in as `login` and returns the address to which the provider redirects. */
export type RunningProvider = {
  readonly issuer: string
  readonly authorize: (address: string, login: string) => Promise<string>
  readonly [Symbol.asyncDispose]: () => Promise<void>
}

const maxSteps = 12

/** Follow the pages of the provider as a browser with forms and cookies, until it redirects to the console. */
const authorizeAt =
  (issuer: string) =>
  async (address: string, login: string): Promise<string> => {
    const cookies = new Map<string, string>()
    let next: { readonly url: string; readonly form?: URLSearchParams } = { url: address }
    for (let step = 0; step < maxSteps; step += 1) {
      const answer: Response = await fetch(next.url, {
        redirect: 'manual',
        headers: { cookie: [...cookies].map(pair => pair.join('=')).join('; ') },
        ...(next.form === undefined ? {} : { method: 'POST', body: next.form }),
      })
      for (const cookie of answer.headers.getSetCookie()) {
        const [name = '', value = ''] = cookie.split(';')[0]?.split('=') ?? []
        cookies.set(name, value)
      }
      const location = answer.headers.get('location')
      if (location !== null) {
        const url = new URL(location, next.url).href
        if (!url.startsWith(issuer)) return url
        next = { url }
        continue
      }
      const text = await answer.text()
      const action = /action="([^"]+)"/.exec(text)?.[1]
      const prompt = /name="prompt" value="(\w+)"/.exec(text)?.[1]
      if (action === undefined || prompt === undefined)
        throw new Error(`The provider answers ${answer.status}: ${text}`)
      next = { url: new URL(action, next.url).href, form: new URLSearchParams({ prompt, login, password: 'any' }) }
    }
    throw new Error('The provider does not redirect to the console.')
  }

/** Start a provider on a free port with one client. Its subjects are the names with which people log in. */
export const startProvider = async (redirectUri: string): Promise<RunningProvider> => {
  const server = createServer()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const client = { client_id: clientId, client_secret: clientSecret, redirect_uris: [redirectUri] }
  const findAccount = (_: unknown, sub: string) => ({
    accountId: sub,
    claims: () => ({ sub, email: 'ada@example.com', email_verified: true }),
  })
  const provider = new Provider(issuer, { clients: [client], findAccount, pkce: { required: () => true } })
  server.on('request', provider.callback())
  return {
    issuer,
    authorize: authorizeAt(issuer),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}
