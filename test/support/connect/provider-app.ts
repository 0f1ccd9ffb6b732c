import type { IncomingMessage, ServerResponse } from 'node:http'
import { readBody, startLocalServer } from '../http/local-server.ts'
import { allHours } from '../tariffs/all-hours.ts'

/** Answer of a provider's app to a request for a tariff. */
export type PlanReply = { readonly status: number; readonly body: unknown } | 'never'

/** Example of a provider's app over real HTTP. People log in there, and the service fetches tariffs from it. */
export type ProviderApp = AsyncDisposable & {
  readonly url: string
  readonly loginUrl: string
  /** Answer to the next fetches. */
  reply: PlanReply
  /** Address of Connect that the app calls after a person logs in on its page. */
  connectAddress: string
  /** Bodies of the received fetches. */
  readonly requests: readonly unknown[]
  /**
   * Log in a person with a Connect token. The app calls Connect for each page, server to server.
   * Return the last page, which redirects the browser.
   */
  readonly logIn: (connectAddress: string, token: string, form: object, consent?: boolean) => Promise<ProviderPage>
}

export type ProviderPage = {
  readonly status: number
  readonly text: string
  readonly route: string
  readonly data: Readonly<Record<string, unknown>>
}

/** Login page of the app. Its form posts to the same address. */
const loginPage = (
  message: string,
): string => `<!doctype html><html lang="en"><title>Log in</title><h1>Log in</h1><p role="alert">${message}</p>
<form method="post"><label>User <input name="user"></label><label>Password <input name="password" type="password"></label>
<label><input type="checkbox" name="consent" value="yes"> Hand my tariff over</label><button>Log in</button></form></html>`

/** Create a tariff in the format of providers. */
export const providerPlan = (value: number, more: object = {}) => ({
  display_name: 'Direct Green',
  integration_instance: 'example',
  direction: 'IMPORT',
  connection_type: 'DIRECT',
  data: allHours([{ value }]),
  ...more,
})

/** Post JSON like a provider's app, without API version and without authorization. */
export const postAsApp = async (connectAddress: string, body: object): Promise<ProviderPage> => {
  const response = await fetch(connectAddress, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  const page = JSON.parse(text) as { route?: string; data?: Readonly<Record<string, unknown>> }
  return { status: response.status, text, route: page.route ?? '', data: page.data ?? {} }
}

/** Start the app on a free port. */
export const startProviderApp = async (post: typeof postAsApp = postAsApp): Promise<ProviderApp> => {
  const requests: unknown[] = []
  const answerPlan = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    requests.push(JSON.parse(await readBody(request)))
    if (app.reply === 'never') response.destroy()
    else
      response.writeHead(app.reply.status, { 'Content-Type': 'application/json' }).end(JSON.stringify(app.reply.body))
  }
  const showLogin = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const token = new URL(request.url ?? '', 'http://app').searchParams.get('fp_cot') ?? ''
    const form = new URLSearchParams(request.method === 'POST' ? await readBody(request) : '')
    const { consent, ...fields } = Object.fromEntries(form)
    const page =
      request.method === 'POST' ? await app.logIn(app.connectAddress, token, fields, consent === 'yes') : null
    const target = page?.data['redirect_url']
    if (typeof target === 'string') response.writeHead(303, { Location: target }).end()
    else
      response
        .writeHead(200, { 'Content-Type': 'text/html' })
        .end(loginPage(String(page?.data['message'] ?? page?.text ?? '')))
  }
  const server = await startLocalServer((request, response) => {
    const answer =
      request.url === '/api/tariff_plan' ? answerPlan : request.url?.startsWith('/login') ? showLogin : null
    if (answer === null) response.writeHead(404).end('{}')
    else void answer(request, response)
  })
  const app: ProviderApp = {
    url: server.url,
    loginUrl: `${server.url}/login?lang=en`,
    reply: { status: 200, body: providerPlan(0.2455) },
    connectAddress: '',
    requests,
    logIn: async (connectAddress, token, form, consent = true) => {
      await post(connectAddress, { connect_token: token, route: 'start_tariff_integration' })
      const consentPage = await post(connectAddress, {
        connect_token: token,
        route: 'auth_metadata_capture',
        data: form,
      })
      if (consentPage.route !== 'consent_capture') return consentPage
      const data = { auth_metadata_id: consentPage.data['auth_metadata_id'], consent_given: consent }
      return post(connectAddress, { connect_token: token, route: 'consent_capture', data })
    },
    [Symbol.asyncDispose]: server[Symbol.asyncDispose],
  }
  return app
}
