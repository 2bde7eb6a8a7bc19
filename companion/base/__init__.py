"""What all other rooms use. Knows neither Gemini CLI nor Sublime Text."""
