// A file that is dropped on a text box becomes its text.

const box = document.querySelector("textarea[data-drop]");

if (box instanceof HTMLTextAreaElement) {
  box.addEventListener("drop", async (event) => {
    const file = event.dataTransfer?.files[0];
    if (!file) return;
    event.preventDefault();
    box.value = await file.text();
  });
}
