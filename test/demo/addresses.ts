/** Address of a public building in a city with Central European time and the euro. */
export type DemoAddress = {
  readonly address_line1: string
  readonly city: string
  readonly post_code: string
  readonly country_code: string
}

const at = (country_code: string, post_code: string, city: string, address_line1: string): DemoAddress => ({
  address_line1,
  city,
  post_code,
  country_code,
})

export const addresses: readonly DemoAddress[] = [
  at('DE', '10117', 'Berlin', 'Pariser Platz 1'),
  at('DE', '80331', 'München', 'Marienplatz 8'),
  at('DE', '20095', 'Hamburg', 'Rathausmarkt 1'),
  at('DE', '50667', 'Köln', 'Domkloster 4'),
  at('DE', '60311', 'Frankfurt am Main', 'Römerberg 23'),
  at('DE', '70173', 'Stuttgart', 'Marktplatz 1'),
  at('DE', '04109', 'Leipzig', 'Martin-Luther-Ring 4'),
  at('DE', '01067', 'Dresden', 'Theaterplatz 2'),
  at('DE', '90403', 'Nürnberg', 'Rathausplatz 2'),
  at('DE', '28195', 'Bremen', 'Am Markt 21'),
  at('AT', '1010', 'Wien', 'Friedrich-Schmidt-Platz 1'),
  at('AT', '8020', 'Graz', 'Lendkai 1'),
  at('AT', '6020', 'Innsbruck', 'Herzog-Friedrich-Straße 15'),
  at('AT', '4020', 'Linz', 'Hauptplatz 1'),
  at('NL', '1071 XX', 'Amsterdam', 'Museumstraat 1'),
  at('NL', '2511 BT', 'Den Haag', 'Spui 70'),
  at('BE', '1000', 'Bruxelles', 'Grand-Place 1'),
  at('BE', '2000', 'Antwerpen', 'Grote Markt 1'),
  at('LU', '1648', 'Luxembourg', 'Place Guillaume II 42'),
  at('FR', '75004', 'Paris', "Place de l'Hôtel de Ville"),
  at('FR', '69001', 'Lyon', 'Place de la Comédie 1'),
  at('ES', '28014', 'Madrid', 'Calle de Ruiz de Alarcón 23'),
  at('IT', '00186', 'Roma', 'Piazza del Campidoglio 1'),
  at('IT', '20121', 'Milano', 'Piazza della Scala 2'),
]
