// Answers to try: something of everything, so that one click shows what the page is for.

export const ENGLISH = {
  question: "What does my travel insurance cover, and how do I claim?",
  answer: `Your Harbour Plus policy covers trips of up to 45 days within Europe [S0]. Medical costs are covered up to €250,000 per person [S0]. Lost luggage is paid up to €5,000 per person [S0].

A loss must be reported to the carrier or the police within 24 hours [S1]. Most claims are settled within ten working days [S1]. The policy is underwritten by Baltic Mutual in Tallinn. Customers rate the service 4.8 out of 5 [S3]. Shall I send you the claim form?`,
  sources: [
    {
      id: "S0",
      origin: "harbour-plus-policy.md",
      text: `# Harbour Plus travel insurance

The policy covers trips of up to 45 days within Europe. Longer trips can be added when you book.

Medical costs are covered up to €250,000 per person. Lost or stolen luggage is paid up to €2,000 per person, with a deductible of €75.

Accidents in racing, mountaineering above 4,000 metres and professional sport are not covered.`,
    },
    {
      id: "S1",
      origin: "how-to-claim.txt",
      text: `How to claim. The loss of luggage must be reported to the carrier or the police within 24 hours, and to us within seven days. Send receipts with the form HP-12. Most claims are settled within ten working days after the form has reached us.`,
    },
  ],
};

export const HEBREW = {
  question: "מה שעות הפתיחה של המוזיאון?",
  answer: `המוזיאון פתוח בימים ראשון עד חמישי בין השעות 10:00 ל-18:00 [S0]. מחיר הכניסה למבוגר הוא 85 שקלים [S0]. המוזיאון נוסד בשנת 1965 [S1].

באוסף יש יותר מ-500,000 פריטים [S1], וה-App של המוזיאון (גרסה 3.2) זמין בחינם.`,
  sources: [
    {
      id: "S0",
      origin: "שעות ומחירים.txt",
      text: `שעות הפתיחה: בימים ראשון עד חמישי המוזיאון פתוח בין השעות 10:00 ל-18:00. ביום שישי בין 10:00 ל-14:00. מחיר הכניסה למבוגר הוא 54 שקלים, לסטודנט 39 שקלים.`,
    },
    { id: "S1", origin: "אודות.txt", text: `המוזיאון נוסד בשנת 1965. באוסף יש יותר מ-500,000 פריטים מתקופות שונות.` },
  ],
};

export const TRACE = {
  question: "In which country does the Eiffel Tower stand?",
  trace: `1. The Eiffel Tower stands in Paris.
2. Paris is the capital of France.
3. So the Eiffel Tower stands in the capital of France.
4. The Eiffel Tower is 300 metres tall.
5. It has 20,000 light bulbs.
Answer: France`,
  sources: [
    {
      id: "guide",
      origin: "guide.txt",
      text: "The Eiffel Tower was completed in 1889. It is 330 metres tall and stands in Paris.",
    },
    { id: "atlas", origin: "atlas.txt", text: "Paris is the capital of France. France has 67 million people." },
  ],
};
